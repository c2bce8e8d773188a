import type { Catalogue } from '../language/catalogue.ts'

/** Texts of administration, in French. */
export const french = {} satisfies Catalogue
