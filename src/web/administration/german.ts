import type { Catalogue } from '../language/catalogue.ts'

/** Texts of administration, in German. */
export const german = {} satisfies Catalogue
