import { storageOf } from './stored.ts'

/** Where the browser keeps the choice. */
export const THEME_KEY = 'branchline-theme'

/** Gives the page the colours that the browser remembers, before anything shows. */
export function applyTheme(theme = storageOf('localStorage')?.getItem(THEME_KEY)): void {
  document.documentElement.dataset.theme = theme ?? 'system'
}
