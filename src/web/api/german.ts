import type { Catalogue } from '../language/catalogue.ts'

/** Texts of calls and their failures, in German. */
export const german = {} satisfies Catalogue
