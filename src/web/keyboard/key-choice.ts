/** What a key opens. */
export type KeyDialog = 'files' | 'line' | 'keys' | 'palette'

export interface KeyDialogProps {
  readonly onClose: () => void
  /** Opens another dialog in place of this one. */
  readonly onOpen: (dialog: KeyDialog) => void
}

/** Where the browser keeps whether keys of one letter do something: `on`, the default, or `off`. */
export const KEYS_KEY = 'branchline-keys'
