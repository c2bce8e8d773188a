import { useDraft } from '../components/stored.ts'
import type { DraftedFiles } from './file-field.tsx'

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
