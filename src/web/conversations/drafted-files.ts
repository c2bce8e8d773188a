import { useDraft } from '../components/stored.ts'

/** The files that the user has uploaded for a text that is not sent. */
export interface DraftedFiles {
  /** The UUIDs of those that a text has. */
  within(text: string): string[]
  add(uuids: readonly string[]): void
  clear(): void
}

/** Returns the files of a draft. They survive a reload as the draft does. */
export function useDraftedFiles(draft: string): DraftedFiles {
  const [uuids, setUuids] = useDraft(`${draft} files`)
  return {
    within: (text) => uuids.split(' ').filter((uuid) => uuid !== '' && text.includes(uuid)),
    add: (more) => setUuids([uuids, ...more].join(' ')),
    clear: () => setUuids(''),
  }
}

export const loadFileField = async () => (await import('./file-field.tsx')).FileField
