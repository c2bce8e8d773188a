import type { Catalogue } from '../language/catalogue.ts'

/** Texts of conversations, in French. */
export const french = {} satisfies Catalogue
