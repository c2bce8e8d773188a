import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { GitObjectService } from '#gen/branchline/v1/git_object_service_pb.ts'
import { codeHref, encodePath, repositoryHref } from '../addresses.ts'
import { type Api, useApi } from '../api/client.ts'
import { failureOf } from '../api/failure.ts'
import { fromBase64, toBase64 } from '../components/formats.tsx'
import { Confirmed, Field, onSubmit } from '../components/forms.tsx'
import { FailureNote, Later, Show, useAction, useLoad } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { t } from '../language/texts.tsx'
import { CommitFields, commitOf, goToCommitted, type WritePlace } from './commit-fields.tsx'
import { ContentField } from './content-field.tsx'
import { type DraftedFile, type FileVersion, useFileDraft } from './file-draft.ts'

/** A file as an editor takes it. */
export interface EditedFile extends FileVersion {
  /** Whether all lines end in a carriage return and a line feed. */
  readonly hasCarriageReturns: boolean
  /** Whether only some of them do. */
  readonly isMixed: boolean
}

export const NO_FILE: EditedFile = { sha: '', text: '', hasCarriageReturns: false, isMixed: false }

/** Texts of more bytes are edited in a clone. */
const MAX_EDITED_BYTES = 1024 * 1024

const loadChanges = async () => (await import('./text-changes.tsx')).TextChanges

const MARKDOWN = /\.(md|markdown)$/i

/** Returns the text of a blob; undefined for one that is no text in UTF-8, or too large. */
export function editedFile(sha: string, content: string | undefined): EditedFile | undefined {
  const bytes = content === undefined ? undefined : fromBase64(content)
  if (!bytes || bytes.length > MAX_EDITED_BYTES || bytes.includes(0)) return undefined
  try {
    // Another reading than for a view: what the user does not change has to stay as it is.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const hasPairs = text.includes('\r\n')
    const hasOthers = /(?:^|[^\r])\n|\r(?!\n)/.test(text)
    return {
      sha,
      text: text.replace(/\r\n?/g, '\n'),
      hasCarriageReturns: hasPairs && !hasOthers,
      isMixed: hasPairs ? hasOthers : text.includes('\r'),
    }
  } catch {
    return undefined
  }
}

/**
 * Reads a file of a branch as it is now.
 *
 * @returns `NO_FILE` where there is none, and undefined for one that a form cannot have.
 */
export async function loadEdited(
  { of }: Api,
  { name, branch }: WritePlace,
  path: string,
  signal?: AbortSignal,
): Promise<EditedFile | undefined> {
  try {
    const request = { ...name, path, ref: branch }
    const { entry } = await of(ContentService).getContents(request, signal ? { signal } : {})
    return entry?.type === 'file' ? editedFile(entry.sha, entry.content) : undefined
  } catch (error) {
    if (failureOf(error).reason === 'PATH_NOT_FOUND') return NO_FILE
    throw error
  }
}

interface EditorProps {
  readonly place: WritePlace
  /** The path before the change, or that of the folder of a new file with a slash at its end. */
  readonly path: string
  readonly file: EditedFile
}

type View = 'text' | 'preview' | 'changes'

/** The form that changes or creates a file. */
export function FileEditor({ place, path, file }: EditorProps): VNode {
  const api = useApi()
  const { name, branch } = place
  const [latest, setLatest] = useState(file)
  const key = `file:${repositoryHref(name)}:${branch}:${path}`
  const drafted = useFileDraft(key, path, latest)
  const { draft } = drafted
  const [view, setView] = useState<View>('text')
  const isNew = file.sha === ''
  const saving = useAction(async (form: HTMLFormElement) => {
    const commit = commitOf(form, place)
    const text = file.hasCarriageReturns ? draft.text.replaceAll('\n', '\r\n') : draft.text
    const content = toBase64(new TextEncoder().encode(text))
    try {
      const files = changesOf(path, { ...draft, content })
      await api.of(ContentService).changeFiles({ ...commit, files })
    } catch (error) {
      const { reason } = failureOf(error)
      if (isNew || (reason !== 'FILE_CHANGED' && reason !== 'PATH_NOT_FOUND')) throw error
      const now = await loadEdited(api, place, path)
      if (!now || now.sha === draft.sha) throw error
      setLatest(now)
      return
    }
    drafted.forget()
    goToCommitted(place, commit.newBranch, draft.path)
  })
  return (
    <form
      aria-label={isNew ? t('New file') : t('Edit the file')}
      onSubmit={onSubmit(saving.run)}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
          event.currentTarget.requestSubmit()
      }}
    >
      {saving.failure && <FailureNote failure={saving.failure} />}
      {draft.sha !== latest.sha && <Conflict {...{ place, path, latest, drafted }} />}
      <Field
        label={t('Path of the file')}
        required
        autocapitalize="none"
        value={draft.path}
        hint={t('Another path moves the file. Slashes separate folders.')}
        onInput={({ currentTarget: { value } }) => drafted.change({ path: value })}
      />
      <Views view={view} onView={setView} />
      <ContentField
        path={draft.path}
        text={draft.text}
        isHidden={view !== 'text'}
        onText={(text) => drafted.change({ text })}
      />
      {file.isMixed && <p class="hint">{t('The ends of all lines become line feeds.')}</p>}
      {view === 'preview' && <Preview place={place} path={draft.path} text={draft.text} />}
      {view === 'changes' && (
        <Later
          load={loadChanges}
          with={{ path: draft.path, from: path, before: latest.text, after: draft.text }}
        />
      )}
      <CommitFields place={place} proposed={proposedMessage(path, draft.path, isNew)} />
      <p class="buttons">
        <button class="main" type="submit" disabled={saving.isRunning}>
          {t('Commit @action')}
        </button>
        <Confirmed
          action={t('Discard what you typed')}
          question={t('The text in this form is lost.')}
          act={async () => {
            drafted.forget()
            goToCommitted(place, '', isNew ? place.path : path)
          }}
        />
      </p>
    </form>
  )
}

/** Returns the changes that write a draft. */
function changesOf(
  path: string,
  draft: { readonly path: string; readonly sha: string; readonly content: string },
) {
  const { sha, content } = draft
  if (sha === '') return [{ operation: 'create', path: draft.path, content }]
  if (draft.path === path) return [{ operation: 'update', path, sha, content }]
  // An empty content of a rename would mean the old one.
  return content === ''
    ? [
        { operation: 'delete', path, sha },
        { operation: 'create', path: draft.path },
      ]
    : [{ operation: 'rename', path: draft.path, fromPath: path, sha, content }]
}

function proposedMessage(path: string, newPath: string, isNew: boolean): string {
  if (isNew) return `Add ${newPath}`
  return newPath === path ? `Update ${path}` : `Rename ${path} to ${newPath}`
}

const VIEWS: readonly (readonly [View, string])[] = [
  ['text', t('Edit')],
  ['preview', t('Preview')],
  ['changes', t('Changes')],
]

function Views({ view, onView }: { view: View; onView: (view: View) => void }): VNode {
  return (
    <fieldset class="buttons">
      <legend class="hidden">{t('View @noun')}</legend>
      {VIEWS.map(([known, text]) => (
        <button
          key={known}
          type="button"
          aria-pressed={known === view}
          onClick={() => onView(known)}
        >
          {text}
        </button>
      ))}
    </fieldset>
  )
}

/** What others will see of the text. */
function Preview(props: { place: WritePlace; path: string; text: string }): VNode {
  const { place, path, text } = props
  const { name, branch } = place
  const folder = path.split('/').slice(0, -1).join('/')
  const base = {
    page: codeHref(name, { kind: 'branch', name: branch }, folder),
    raw: `${repositoryHref(name)}/raw/branch/${encodePath([branch, folder].join('/'))}`,
  }
  return (
    <section class="note" aria-label={t('Preview')}>
      {MARKDOWN.test(path) ? <Markup text={text} base={base} /> : <pre>{text}</pre>}
    </section>
  )
}

/** Tells that the branch has another version than the one that the user began with. */
function Conflict(props: {
  place: WritePlace
  path: string
  latest: FileVersion
  drafted: DraftedFile
}): VNode {
  const { place, path, latest, drafted } = props
  const { draft } = drafted
  const { branch } = place
  const isGone = latest.sha === ''
  return (
    <section class="note problem" aria-label={t('Conflict')}>
      <p role="alert">
        <strong>
          {isGone
            ? t('The branch {branch} no longer has the file.', { branch })
            : t('The file has changed on the branch {branch} since you began.', { branch })}
        </strong>{' '}
        {t('Your text is still here, and is not saved yet.')}
      </p>
      {!isGone && <OthersChanges {...{ place, path, latest, sha: draft.sha }} />}
      <p class="buttons">
        <button type="button" onClick={() => drafted.change({ sha: latest.sha })}>
          {isGone ? t('Create the file again') : t('Go on with my text')}
        </button>
        {!isGone && (
          <Confirmed
            action={t('Take the newer version')}
            question={t('What you have typed is replaced by the version of the branch.')}
            act={async () => drafted.change({ sha: latest.sha, text: latest.text })}
          />
        )}
      </p>
    </section>
  )
}

/** What others have changed since the user began. */
function OthersChanges(props: {
  place: WritePlace
  path: string
  latest: FileVersion
  sha: string
}): VNode {
  const { of } = useApi()
  const { place, path, latest, sha } = props
  const begun = useLoad(
    async (signal) => {
      const { content } = await of(GitObjectService).getGitBlob({ ...place.name, sha }, { signal })
      return editedFile(sha, content)?.text ?? ''
    },
    [sha],
  )
  return (
    <Show of={begun}>
      {(text) => (
        <>
          <p>{t('What changed on the branch:')}</p>
          <Later load={loadChanges} with={{ path, from: path, before: text, after: latest.text }} />
        </>
      )}
    </Show>
  )
}
