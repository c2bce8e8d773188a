import type { VNode } from 'preact'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import { CollaboratorService } from '#gen/branchline/v1/collaborator_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { TopicService } from '#gen/branchline/v1/topic_service_pb.ts'
import { useApi } from '../api/client.ts'
import {
  ActionButton,
  ActionForm,
  Checkbox,
  ConfirmedForm,
  Field,
  fieldOf,
  isChecked,
  Lines,
  linesOf,
  Select,
} from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { t } from '../language/texts.tsx'
import { MERGE_STYLES } from '../pulls/merge-styles.ts'
import type { PageProps } from '../routes.ts'
import { RepositorySettings } from './repository-settings.tsx'

/** The settings of a repository that are neither rules nor lists, and its danger zone. */
export function GeneralSettings({ owner, repo }: PageProps): VNode {
  return (
    <RepositorySettings owner={owner} repo={repo} page="General">
      {(repository, reload) => {
        const props = { name: { owner, repo }, repository, reload }
        return (
          <>
            {!repository.archived && (
              <>
                <Description {...props} />
                <Topics {...props} />
                <Features {...props} />
                <LfsRules {...props} />
                {repository.hasIssues && <IssueRules {...props} />}
                {repository.hasPullRequests && <Merging {...props} />}
              </>
            )}
            <DangerZone {...props} />
          </>
        )
      }}
    </RepositorySettings>
  )
}

interface SettingsProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly repository: Repository
  readonly reload: () => void
}

function Description({ name, repository, reload }: SettingsProps): VNode {
  const { of } = useApi()
  const save = async (form: HTMLFormElement) => {
    await of(RepositoryService).editRepository({
      ...name,
      description: fieldOf(form, 'description'),
      website: fieldOf(form, 'website'),
      private: fieldOf(form, 'visibility') === 'private',
      defaultBranch: fieldOf(form, 'branch'),
      template: isChecked(form, 'template'),
    })
    reload()
  }
  return (
    <ActionForm
      label={t('Description')}
      submit={t('Save the description')}
      done={t('Saved.')}
      act={save}
    >
      <Field
        label={t('Description')}
        name="description"
        maxLength={2048}
        defaultValue={repository.description}
      />
      <Field
        label={t('Website')}
        name="website"
        type="url"
        maxLength={1024}
        defaultValue={repository.website}
      />
      <Select
        label={t('Visibility')}
        name="visibility"
        value={repository.private ? 'private' : 'public'}
        options={[
          ['public', t('Public: everybody who may see the owner')],
          ['private', t('Private: the owner, collaborators and teams')],
        ]}
      />
      <DefaultBranch name={name} branch={repository.defaultBranch} />
      <Checkbox
        label={t('New repositories may begin as a copy of this one (template)')}
        name="template"
        isChecked={repository.template}
      />
    </ActionForm>
  )
}

/** The branches are offered, as many as the API has on one page. */
function DefaultBranch(props: { name: SettingsProps['name']; branch: string }): VNode {
  const { of } = useApi()
  const { name, branch } = props
  const branches = useLoad(
    (signal) => of(BranchService).listBranches({ ...name, limit: 50 }, { signal }),
    [],
  )
  return (
    <>
      <Field
        label={t('Default branch')}
        name="branch"
        list="branches"
        autocomplete="off"
        required
        defaultValue={branch}
      />
      <datalist id="branches">
        {branches.value?.branches.map((known) => (
          <option key={known.name} value={known.name} />
        ))}
      </datalist>
    </>
  )
}

function Topics({ name }: SettingsProps): VNode {
  const { of } = useApi()
  const topics = useLoad(
    (signal) => of(TopicService).listRepositoryTopics({ ...name, limit: 50 }, { signal }),
    [],
  )
  return (
    <>
      <h3>{t('Topics')}</h3>
      <Show of={topics}>
        {({ page: names }) => (
          <ActionForm
            label={t('Topics')}
            submit={t('Save the topics')}
            done={t('Saved.')}
            act={(form) =>
              of(TopicService).replaceRepositoryTopics({ ...name, topics: linesOf(form, 'topics') })
            }
          >
            <Lines
              label={t('Topics')}
              name="topics"
              lines={names?.topics ?? []}
              hint={t('One on each line: small letters, digits and hyphens.')}
            />
          </ActionForm>
        )}
      </Show>
    </>
  )
}

function Features({ name, repository, reload }: SettingsProps): VNode {
  const { of } = useApi()
  const save = async (form: HTMLFormElement) => {
    await of(RepositoryService).editRepository({
      ...name,
      hasIssues: isChecked(form, 'issues'),
      hasPullRequests: isChecked(form, 'pulls'),
      hasReleases: isChecked(form, 'releases'),
    })
    reload()
  }
  return (
    <>
      <h3>{t('Features')}</h3>
      <ActionForm
        label={t('Features')}
        submit={t('Save the features')}
        done={t('Saved.')}
        act={save}
      >
        <Checkbox label={t('Issues')} name="issues" isChecked={repository.hasIssues} />
        <Checkbox label={t('Pull requests')} name="pulls" isChecked={repository.hasPullRequests} />
        <Checkbox label={t('Releases')} name="releases" isChecked={repository.hasReleases} />
      </ActionForm>
    </>
  )
}

function LfsRules({ name, repository, reload }: SettingsProps): VNode {
  const { of } = useApi()
  const save = async (form: HTMLFormElement) => {
    const lfsLocksEnforced = isChecked(form, 'locks')
    await of(RepositoryService).editRepository({ ...name, lfsLocksEnforced })
    reload()
  }
  return (
    <>
      <h3>{t('Git LFS')}</h3>
      <ActionForm
        label={t('Git LFS')}
        submit={t('Save the rules of locks')}
        done={t('Saved.')}
        act={save}
      >
        <Checkbox
          label={t('Others cannot change a locked file by a push, the API or a merge')}
          name="locks"
          isChecked={repository.lfsLocksEnforced}
        />
      </ActionForm>
    </>
  )
}

function IssueRules({ name, repository, reload }: SettingsProps): VNode {
  const { of } = useApi()
  const save = async (form: HTMLFormElement) => {
    await of(RepositoryService).editRepository({
      ...name,
      issueAccess: fieldOf(form, 'access'),
      closeIssuesViaCommitInAnyBranch: isChecked(form, 'branches'),
    })
    reload()
  }
  return (
    <>
      <h3>{t('Issues')}</h3>
      <ActionForm
        label={t('Issues')}
        submit={t('Save the rules of issues')}
        done={t('Saved.')}
        act={save}
      >
        <Select
          label={t('Who may open issues and comment on them')}
          name="access"
          value={repository.issueAccess}
          options={[
            ['everyone', t('Everyone who may read issues')],
            ['contributors', t('Contributors: also authors of commits and of earlier issues')],
            ['collaborators', t('Collaborators: those who may write')],
          ]}
        />
        <Checkbox
          label={t('Closing words of commits and merges act in every branch')}
          name="branches"
          isChecked={repository.closeIssuesViaCommitInAnyBranch}
        />
      </ActionForm>
    </>
  )
}

function Merging({ name, repository, reload }: SettingsProps): VNode {
  const { of } = useApi()
  const save = async (form: HTMLFormElement) => {
    const allowed = MERGE_STYLES.map(([style, , setting]) => [setting, isChecked(form, style)])
    await of(RepositoryService).editRepository({
      ...name,
      ...Object.fromEntries(allowed),
      defaultMergeStyle: fieldOf(form, 'style'),
      defaultDeleteBranchAfterMerge: isChecked(form, 'delete'),
      rebaseStacks: isChecked(form, 'stacks'),
      allowManualMerge: isChecked(form, 'manual'),
    })
    reload()
  }
  return (
    <>
      <h3>{t('Merging')}</h3>
      <ActionForm
        label={t('Merging')}
        submit={t('Save how to merge')}
        done={t('Saved.')}
        act={save}
      >
        <fieldset>
          <legend>{t('Styles that people may choose')}</legend>
          {MERGE_STYLES.map(([style, text, setting]) => (
            <Checkbox key={style} label={text} name={style} isChecked={repository[setting]} />
          ))}
        </fieldset>
        <Select
          label={t('Style that is chosen at first')}
          name="style"
          value={repository.defaultMergeStyle}
          options={MERGE_STYLES.map(([style, text]) => [style, text])}
        />
        <Checkbox
          label={t('Delete the branch after a merge, unless somebody chooses otherwise')}
          name="delete"
          isChecked={repository.defaultDeleteBranchAfterMerge}
        />
        <Checkbox
          label={t(
            'When a merge deletes its branch, rebase the pull requests that are stacked on it',
          )}
          name="stacks"
          isChecked={repository.rebaseStacks}
        />
        <Checkbox
          label={t('Administrators may mark a pull request as merged by hand')}
          name="manual"
          isChecked={repository.allowManualMerge}
        />
      </ActionForm>
    </>
  )
}

interface DangerProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly repository: Repository
  readonly reload: () => void
}

/** Actions that one click cannot undo. Transfers and deletions are for owners. */
function DangerZone(props: DangerProps): VNode {
  const { of, session } = useApi()
  const { name, repository } = props
  const collaborator = session.user?.username ?? ''
  const level = useLoad(
    (signal) =>
      of(CollaboratorService).getRepositoryPermission({ ...name, collaborator }, { signal }),
    [],
  )
  return (
    <section class="box" aria-labelledby="danger">
      <h3 id="danger">{t('Danger zone')}</h3>
      {!repository.archived && <Rename {...props} />}
      <Show of={level}>
        {({ permission }) =>
          permission === 'owner' && !repository.archived && <Transfer {...props} />
        }
      </Show>
      <Archive {...props} />
      {level.value?.permission === 'owner' && <Deletion {...props} />}
    </section>
  )
}

function Rename({ name, repository }: DangerProps): VNode {
  const { of } = useApi()
  return (
    <ConfirmedForm
      action={t('Rename the repository')}
      name={repository.fullName}
      act={async (form) => {
        const request = { ...name, name: fieldOf(form, 'name') }
        const { fullName } = await of(RepositoryService).editRepository(request)
        goTo(`/${fullName}/settings`)
      }}
    >
      <p>{t('The former address leads to the new one until another repository takes the name.')}</p>
      <Field label={t('New name')} name="name" autocapitalize="none" autocomplete="off" required />
    </ConfirmedForm>
  )
}

function Transfer({ name, repository, reload }: DangerProps): VNode {
  const { of } = useApi()
  const recipient = repository.repoTransfer?.recipient?.login
  if (recipient !== undefined)
    return (
      <p>
        {t('{user} has been asked to take the repository.', { user: recipient })}{' '}
        <ActionButton
          text={t('Cancel the transfer')}
          act={async () => {
            await of(RepositoryService).rejectRepositoryTransfer(name)
            reload()
          }}
        />
      </p>
    )
  return (
    <ConfirmedForm
      action={t('Transfer the repository')}
      name={repository.fullName}
      act={async (form) => {
        const request = { ...name, newOwner: fieldOf(form, 'owner') }
        const { fullName, repoTransfer } = await of(RepositoryService).transferRepository(request)
        if (repoTransfer) reload()
        else goTo(`/${fullName}`)
      }}
    >
      <p>
        {t(
          'The new owner may do everything with the repository. A user is asked first. Your own rights may end.',
        )}
      </p>
      <Field
        label={t('New owner')}
        name="owner"
        autocapitalize="none"
        autocomplete="off"
        required
      />
    </ConfirmedForm>
  )
}

function Archive({ name, repository, reload }: DangerProps): VNode {
  const { of } = useApi()
  const edit = async (archived: boolean) => {
    await of(RepositoryService).editRepository({ ...name, archived })
    reload()
  }
  if (repository.archived)
    return (
      <p>
        <ActionButton text={t('Restore the repository')} act={() => edit(false)} />
      </p>
    )
  return (
    <ConfirmedForm
      action={t('Archive the repository')}
      name={repository.fullName}
      act={() => edit(true)}
    >
      <p>{t('Everybody may read the repository as before, and nobody may change anything.')}</p>
    </ConfirmedForm>
  )
}

function Deletion({ name, repository }: DangerProps): VNode {
  const { of } = useApi()
  return (
    <ConfirmedForm
      action={t('Delete the repository')}
      name={repository.fullName}
      act={async () => {
        await of(RepositoryService).deleteRepository(name)
        goTo('/')
      }}
    >
      <p>
        {t(
          'The commits, pull requests, releases and settings are deleted. Only a backup of the server has them then.',
        )}
      </p>
    </ConfirmedForm>
  )
}
