import type { VNode } from 'preact'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import { codeHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { ActionForm, Field, fieldOf } from '../components/forms.tsx'
import { goTo } from '../components/navigation.ts'

/** Returns whether the user may create and delete branches and tags, as far as no rule forbids it. */
export function mayWriteRefs({ permissions, archived, empty }: Repository): boolean {
  return permissions?.push === true && !archived && !empty
}

/** The form that creates a branch or a tag. */
export function NewRef(props: { repository: Repository; kind: 'branch' | 'tag' }): VNode | null {
  const { of } = useApi()
  const { repository, kind } = props
  if (!mayWriteRefs(repository)) return null
  const name = { owner: repository.owner?.login ?? '', repo: repository.name }
  const create = async (form: HTMLFormElement) => {
    const ref = fieldOf(form, 'ref').trim()
    const target = fieldOf(form, 'target').trim()
    if (kind === 'branch')
      await of(BranchService).createBranch({ ...name, newBranchName: ref, oldRefName: target })
    else
      await of(TagService).createTag({
        ...name,
        tagName: ref,
        target,
        message: fieldOf(form, 'message'),
      })
    goTo(codeHref(name, { kind, name: ref }, ''))
  }
  return (
    <ActionForm label={`New ${kind}`} submit={`Create the ${kind}`} act={create} isRow>
      <Field label={`Name of the new ${kind}`} name="ref" required autocapitalize="none" />
      <Field
        label="From branch, tag or commit"
        name="target"
        autocapitalize="none"
        placeholder={repository.defaultBranch}
      />
      {kind === 'tag' && <Field label="Message (optional)" name="message" />}
    </ActionForm>
  )
}
