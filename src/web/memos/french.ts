import type { Catalogue } from '../language/catalogue.ts'

/** Texts of memos, in French. */
export const french = {} satisfies Catalogue
