import type { Catalogue } from '../language/catalogue.ts'

/** Texts of webhooks, in German. */
export const german = {} satisfies Catalogue
