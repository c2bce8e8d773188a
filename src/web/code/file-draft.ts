import { useDraft } from '../components/stored.ts'

/** A version of a file. */
export interface FileVersion {
  /** Id of the blob; empty where there is no file. */
  readonly sha: string
  /** With line feeds only, as a form has them. */
  readonly text: string
}

/** What a user has typed. */
interface FileDraft extends FileVersion {
  readonly path: string
}

/** A draft, and what changes it. */
export interface DraftedFile {
  /** Its `sha` is that of the version that the user began with. */
  readonly draft: FileDraft
  readonly change: (part: Partial<FileDraft>) => void
  readonly forget: () => void
}

/**
 * Returns the draft of a file, which survives failures and reloads until the commit. A later load of
 * the page does not replace the version that the user began with.
 *
 * @param key names the draft in the storage of the tab.
 * @param path of the file before the change.
 * @param latest the version that the branch has.
 */
export function useFileDraft(key: string, path: string, latest: FileVersion): DraftedFile {
  const [stored, store] = useDraft(key)
  const draft = readDraft(stored) ?? { ...latest, path }
  return {
    draft,
    change(part) {
      const next = { ...draft, ...part }
      const isSame = next.path === path && next.text === latest.text && next.sha === latest.sha
      store(isSame ? '' : JSON.stringify(next))
    },
    forget: () => store(''),
  }
}

function readDraft(stored: string): FileDraft | undefined {
  try {
    const { path, text, sha } = JSON.parse(stored) as Partial<FileDraft>
    if (typeof path === 'string' && typeof text === 'string' && typeof sha === 'string')
      return { path, text, sha }
  } catch {
    // There is no draft, or another version of the page has written it.
  }
  return undefined
}
