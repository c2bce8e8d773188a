import type { VNode } from 'preact'
import { ForkService } from '#gen/branchline/v1/fork_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionButton } from '../components/forms.tsx'
import { say } from '../components/toast.tsx'
import { t } from '../language/texts.tsx'

interface SyncForkProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly parent: Repository
  readonly branch: string
  readonly onChange: () => void
}

/** Brings the new commits of the parent into a branch of a fork. */
export function SyncFork({ name, parent, branch, onChange }: SyncForkProps): VNode {
  const { of } = useApi()
  return (
    <ActionButton
      text={t('Update from {parent}', { parent: parent.fullName })}
      act={async () => {
        const { mergeType } = await of(ForkService).mergeUpstream({ ...name, branch })
        say(
          mergeType === 'up-to-date'
            ? t('The branch has all commits of {parent}.', { parent: parent.fullName })
            : t('The branch has the new commits of {parent}.', { parent: parent.fullName }),
        )
        if (mergeType !== 'up-to-date') onChange()
      }}
    />
  )
}
