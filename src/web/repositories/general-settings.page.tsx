import type { VNode } from 'preact'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { TopicService } from '#gen/branchline/v1/topic_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm } from '../components/action-form.tsx'
import { Checkbox, isChecked, Lines, linesOf, Select } from '../components/choices.tsx'
import { Field, fieldOf } from '../components/field.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { MERGE_STYLES } from '../pulls/merge-styles.ts'
import type { PageProps } from '../routes.ts'
import { DangerZone } from './danger-zone.tsx'
import { RepositorySettings } from './repository-settings.tsx'

/** The settings of a repository that are neither rules nor lists, and its danger zone. */
export default function GeneralSettings({ owner, repo }: PageProps): VNode {
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
    <ActionForm label="Description" submit="Save the description" done="Saved." act={save}>
      <Field
        label="Description"
        name="description"
        maxLength={2048}
        defaultValue={repository.description}
      />
      <Field
        label="Website"
        name="website"
        type="url"
        maxLength={1024}
        defaultValue={repository.website}
      />
      <Select
        label="Visibility"
        name="visibility"
        value={repository.private ? 'private' : 'public'}
        options={[
          ['public', 'Public: everybody who may see the owner'],
          ['private', 'Private: the owner, collaborators and teams'],
        ]}
      />
      <DefaultBranch name={name} branch={repository.defaultBranch} />
      <Checkbox
        label="New repositories may begin as a copy of this one (template)"
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
        label="Default branch"
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
      <h3>Topics</h3>
      <Show of={topics}>
        {({ page: names }) => (
          <ActionForm
            label="Topics"
            submit="Save the topics"
            done="Saved."
            act={(form) =>
              of(TopicService).replaceRepositoryTopics({ ...name, topics: linesOf(form, 'topics') })
            }
          >
            <Lines
              label="Topics"
              name="topics"
              lines={names?.topics ?? []}
              hint="One on each line: small letters, digits and hyphens."
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
      hasPullRequests: isChecked(form, 'pulls'),
      hasReleases: isChecked(form, 'releases'),
    })
    reload()
  }
  return (
    <>
      <h3>Features</h3>
      <ActionForm label="Features" submit="Save the features" done="Saved." act={save}>
        <Checkbox label="Pull requests" name="pulls" isChecked={repository.hasPullRequests} />
        <Checkbox label="Releases" name="releases" isChecked={repository.hasReleases} />
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
      allowManualMerge: isChecked(form, 'manual'),
    })
    reload()
  }
  return (
    <>
      <h3>Merging</h3>
      <ActionForm label="Merging" submit="Save how to merge" done="Saved." act={save}>
        <fieldset>
          <legend>Styles that people may choose</legend>
          {MERGE_STYLES.map(([style, text, setting]) => (
            <Checkbox key={style} label={text} name={style} isChecked={repository[setting]} />
          ))}
        </fieldset>
        <Select
          label="Style that is chosen at first"
          name="style"
          value={repository.defaultMergeStyle}
          options={MERGE_STYLES.map(([style, text]) => [style, text])}
        />
        <Checkbox
          label="Delete the branch after a merge, unless somebody chooses otherwise"
          name="delete"
          isChecked={repository.defaultDeleteBranchAfterMerge}
        />
        <Checkbox
          label="Administrators may mark a pull request as merged by hand"
          name="manual"
          isChecked={repository.allowManualMerge}
        />
      </ActionForm>
    </>
  )
}
