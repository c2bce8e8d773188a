import type { Catalogue } from '../language/catalogue.ts'

/** Texts of keys and the palette, in German. */
export const german = {} satisfies Catalogue
