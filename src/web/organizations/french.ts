import type { Catalogue } from '../language/catalogue.ts'

/** Texts of organisations, in French. */
export const french = {} satisfies Catalogue
