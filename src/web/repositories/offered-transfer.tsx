import type { VNode } from 'preact'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionButton } from '../components/forms.tsx'
import { goTo } from '../components/navigation.ts'

/** A transfer that waits for the user. */
export function OfferedTransfer({ repository }: { repository: Repository }): VNode {
  const { of } = useApi()
  const { owner, name, repoTransfer } = repository
  const request = { owner: owner?.login ?? '', repo: name }
  return (
    <div class="note">
      <p>{repoTransfer?.doer?.login} offers you this repository.</p>
      <p class="row">
        <ActionButton
          text="Take the repository"
          act={async () => {
            const { fullName } = await of(RepositoryService).acceptRepositoryTransfer(request)
            goTo(`/${fullName}`)
          }}
        />
        <ActionButton
          text="Refuse"
          act={async () => {
            await of(RepositoryService).rejectRepositoryTransfer(request)
            goTo('/')
          }}
        />
      </p>
    </div>
  )
}
