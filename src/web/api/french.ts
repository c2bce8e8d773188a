import type { Catalogue } from '../language/catalogue.ts'

/** Texts of calls and their failures, in French. */
export const french = {} satisfies Catalogue
