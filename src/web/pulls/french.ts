import type { Catalogue } from '../language/catalogue.ts'

/** Texts of pull requests, in French. */
export const french = {} satisfies Catalogue
