import { storageOf } from '../components/stored.ts'

/** What a key opens. */
export type KeyDialog = 'files' | 'line' | 'keys' | 'palette'

export interface KeyDialogProps {
  readonly onClose: () => void
  /** Opens another dialog in place of this one. */
  readonly onOpen: (dialog: KeyDialog) => void
}

/** Where the browser keeps whether keys of one letter do something: `on`, the default, or `off`. */
export const KEYS_KEY = 'branchline-keys'

/** Fields that take letters. A box that is checked or not takes none. */
const FIELDS = 'input:not([type=checkbox]), textarea, select'

/**
 * Returns whether an event is a key of one letter for the page. Fields and dialogs take such keys
 * themselves, and the user may have switched the keys off (WCAG 2.1.4).
 */
export function isSingleKey({ ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey || isAsking()) return false
  if (target instanceof HTMLElement && target.matches(FIELDS)) return false
  if (target instanceof HTMLElement && target.isContentEditable) return false
  return storageOf('localStorage')?.getItem(KEYS_KEY) !== 'off'
}

/** Returns whether a dialog is open. */
export function isAsking(): boolean {
  return document.querySelector('dialog[open]') !== null
}
