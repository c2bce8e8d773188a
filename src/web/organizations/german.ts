import type { Catalogue } from '../language/catalogue.ts'

/** Texts of organisations, in German. */
export const german = {} satisfies Catalogue
