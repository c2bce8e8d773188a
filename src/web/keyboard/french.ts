import type { Catalogue } from '../language/catalogue.ts'

/** Texts of keys and the palette, in French. */
export const french = {} satisfies Catalogue
