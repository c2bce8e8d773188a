import type { Catalogue } from '../language/catalogue.ts'

/** Texts of repositories, in French. */
export const french = {} satisfies Catalogue
