import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { ReleaseNoteService } from '#gen/branchline/v1/release_note_service_pb.ts'
import { ReleaseService } from '#gen/branchline/v1/release_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import {
  ActionButton,
  ActionForm,
  Checkbox,
  Field,
  fieldOf,
  isChecked,
} from '../components/forms.tsx'
import { goTo } from '../components/navigation.ts'
import { useDraft } from '../components/stored.ts'
import { t } from '../language/texts.tsx'

/** The form that publishes a release, or saves a draft. */
export function NewRelease({ repository }: { repository: Repository }): VNode {
  const { of } = useApi()
  const name = { owner: repository.owner?.login ?? '', repo: repository.name }
  const [notes, setNotes] = useDraft(`release:${repositoryHref(name)}`)
  const create = async (form: HTMLFormElement) => {
    const { tagName } = await of(ReleaseService).createRelease({
      ...name,
      tagName: fieldOf(form, 'tag').trim(),
      targetCommitish: fieldOf(form, 'target').trim(),
      name: fieldOf(form, 'title'),
      body: notes,
      draft: isChecked(form, 'draft'),
      prerelease: isChecked(form, 'prerelease'),
    })
    setNotes('')
    goTo(`${repositoryHref(name)}/releases/tag/${encodeURIComponent(tagName)}`)
  }
  return (
    <ActionForm label={t('New release')} submit={t('Create the release')} act={create}>
      <Field
        label={t('Tag')}
        name="tag"
        required
        autocapitalize="none"
        hint={t('A tag that does not exist is created.')}
      />
      <Field
        label={t('Branch or commit of a new tag')}
        name="target"
        autocapitalize="none"
        placeholder={repository.defaultBranch}
      />
      <Field label={t('Title (optional)')} name="title" maxLength={255} />
      <NoteGenerator
        name={name}
        // What the user has typed stays.
        onNotes={(text) => setNotes(notes.trim() === '' ? text : `${notes.trimEnd()}\n\n${text}`)}
      />
      <label>
        {t('Notes in Markdown (optional)')}
        <textarea
          rows={10}
          value={notes}
          onInput={({ currentTarget }) => setNotes(currentTarget.value)}
        />
      </label>
      <Checkbox label={t('Pre-release')} name="prerelease" />
      <Checkbox label={t('Draft, which only writers see')} name="draft" />
    </ActionForm>
  )
}

/** The button that lets the server write the notes of the tag in the form around the button. */
function NoteGenerator(props: {
  name: { readonly owner: string; readonly repo: string }
  onNotes: (notes: string) => void
}): VNode {
  const { of } = useApi()
  const { name, onNotes } = props
  const place = useRef<HTMLParagraphElement>(null)
  const generate = async () => {
    const form = place.current?.closest('form')
    if (!form?.reportValidity()) return
    const { body } = await of(ReleaseNoteService).generateReleaseNotes({
      ...name,
      tagName: fieldOf(form, 'tag').trim(),
      targetCommitish: fieldOf(form, 'target').trim(),
    })
    onNotes(body)
  }
  return (
    <p ref={place}>
      <ActionButton text={t('Generate notes')} act={generate} />{' '}
      <span class="hint">
        {t('Names the pull requests that were merged since the release before.')}
      </span>
    </p>
  )
}
