import type { Catalogue } from '../language/catalogue.ts'

/** Texts of issues, in French. */
export const french = {} satisfies Catalogue
