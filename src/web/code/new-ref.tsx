import type { VNode } from 'preact'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import { codeHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { ActionForm, Field, fieldOf } from '../components/forms.tsx'
import { goTo } from '../components/navigation.ts'
import { t } from '../language/texts.tsx'

/** Returns whether the user may create and delete branches and tags, as far as no rule forbids it. */
export function mayWriteRefs({ permissions, archived, empty }: Repository): boolean {
  return permissions?.push === true && !archived && !empty
}

const TEXTS = {
  branch: {
    heading: t('New branch'),
    submit: t('Create the branch'),
    name: t('Name of the new branch'),
  },
  tag: {
    heading: t('New tag'),
    submit: t('Create the tag'),
    name: t('Name of the new tag'),
  },
}

/** The form that creates a branch or a tag. */
export function NewRef(props: { repository: Repository; kind: 'branch' | 'tag' }): VNode | null {
  const { of } = useApi()
  const { repository, kind } = props
  if (!mayWriteRefs(repository)) return null
  const texts = TEXTS[kind]
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
    <ActionForm label={texts.heading} submit={texts.submit} act={create} isRow>
      <Field label={texts.name} name="ref" required autocapitalize="none" />
      <Field
        label={t('From branch, tag or commit')}
        name="target"
        autocapitalize="none"
        placeholder={repository.defaultBranch}
      />
      {kind === 'tag' && <Field label={t('Message (optional)')} name="message" />}
    </ActionForm>
  )
}
