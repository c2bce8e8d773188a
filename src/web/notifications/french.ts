import type { Catalogue } from '../language/catalogue.ts'

/** Texts of notifications, in French. */
export const french = {} satisfies Catalogue
