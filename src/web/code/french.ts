import type { Catalogue } from '../language/catalogue.ts'

/** Texts of files, commits and changes, in French. */
export const french = {} satisfies Catalogue
