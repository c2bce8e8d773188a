import type { Catalogue } from '../language/catalogue.ts'

/** Texts of the header, in French. */
export const french = {} satisfies Catalogue
