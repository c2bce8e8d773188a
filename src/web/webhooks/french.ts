import type { Catalogue } from '../language/catalogue.ts'

/** Texts of webhooks, in French. */
export const french = {} satisfies Catalogue
