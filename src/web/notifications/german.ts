import type { Catalogue } from '../language/catalogue.ts'

/** Texts of notifications, in German. */
export const german = {} satisfies Catalogue
