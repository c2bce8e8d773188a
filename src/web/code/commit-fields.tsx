import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { codeHref, repositoryHref } from '../addresses.ts'
import { type Api, useApi } from '../api/client.ts'
import { Field, fieldOf } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { NotFound } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import { findRef } from './refs.tsx'

/** Where a user writes. */
export interface WritePlace {
  readonly repository: Repository
  readonly name: { readonly owner: string; readonly repo: string }
  readonly branch: string
  /** The path in the address: a file, or a folder. */
  readonly path: string
  /** Whether the user may commit to the branch itself. */
  readonly mayPush: boolean
}

/** The part of a page where a user writes to a branch, whose name is in the address. */
export function Writing(props: {
  repository: Repository
  rest: readonly string[]
  children: (place: WritePlace) => VNode
}): VNode {
  const api = useApi()
  const { repository, rest, children } = props
  const place = useLoad((signal) => findWritePlace(api, repository, rest, signal), [rest.join('/')])
  if (!api.session.user) return <NotFound />
  if (!repository.permissions?.push)
    return (
      <p class="note">{t('You may not write to this repository. Fork it, and change the fork.')}</p>
    )
  if (repository.archived) return <p class="note">{t('The repository is archived.')}</p>
  return (
    <Show of={place} isPage>
      {(found) => children(found)}
    </Show>
  )
}

async function findWritePlace(
  api: Api,
  repository: Repository,
  rest: readonly string[],
  signal: AbortSignal,
): Promise<WritePlace> {
  const name = { owner: repository.owner?.login ?? '', repo: repository.name }
  const { ref, path } = await findRef(api, repository, ['branch', ...rest], signal)
  const place = { repository, name, branch: ref.name, path }
  // The first commit creates the branch.
  if (repository.empty) return { ...place, mayPush: true }
  const found = await api.of(BranchService).getBranch({ ...name, branch: ref.name }, { signal })
  return { ...place, mayPush: found.userCanPush }
}

/** The message of a commit, and the branch that gets the commit. */
export function CommitFields(props: { place: WritePlace; proposed: string }): VNode {
  const { session } = useApi()
  const { place, proposed } = props
  const [isNewBranch, setNewBranch] = useState(!place.mayPush)
  return (
    <fieldset>
      <legend>{t('Commit')}</legend>
      <Field label={t('Message of the commit')} name="message" placeholder={proposed} />
      {place.mayPush ? (
        <label class="choice">
          <input
            type="radio"
            name="target"
            checked={!isNewBranch}
            onChange={() => setNewBranch(false)}
          />{' '}
          {t('To the branch {branch}', { branch: place.branch })}
        </label>
      ) : (
        <p class="hint">
          {t('You may not commit to the branch {branch} itself.', { branch: place.branch })}
        </p>
      )}
      {!place.repository.empty && (
        <label class="choice">
          <input
            type="radio"
            name="target"
            checked={isNewBranch}
            onChange={() => setNewBranch(true)}
          />{' '}
          {t('To a new branch, for a pull request')}
        </label>
      )}
      {isNewBranch && (
        <Field
          label={t('Name of the new branch')}
          name="new_branch"
          required
          maxLength={100}
          autocapitalize="none"
          defaultValue={`${session.user?.username ?? 'user'}-patch-1`}
        />
      )}
    </fieldset>
  )
}

/** Returns what the fields of a commit say, as the API takes it. */
export function commitOf(
  form: HTMLFormElement,
  { name, branch }: WritePlace,
): { owner: string; repo: string; branch: string; newBranch: string; message: string } {
  const [message, newBranch] = [fieldOf(form, 'message'), fieldOf(form, 'new_branch')]
  return { ...name, branch, newBranch, message }
}

/** Goes to what was committed: the path on the branch, or the form of a pull request. */
export function goToCommitted(place: WritePlace, newBranch: string, path: string): void {
  const { name, branch } = place
  goTo(
    newBranch === ''
      ? codeHref(name, { kind: 'branch', name: branch }, path)
      : `${repositoryHref(name)}/compare/${encodeURIComponent(branch)}...${encodeURIComponent(newBranch)}`,
  )
}
