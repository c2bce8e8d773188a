import type { Catalogue } from '../language/catalogue.ts'

/** Texts of conversations, in German. */
export const german = {} satisfies Catalogue
