import type { Catalogue } from '../language/catalogue.ts'

/** Texts of the pages about the API, in French. */
export const french = {} satisfies Catalogue
