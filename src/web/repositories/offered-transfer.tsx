import type { VNode } from 'preact'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionButton } from '../components/forms.tsx'
import { goTo } from '../components/navigation.ts'
import { t } from '../language/texts.tsx'

/** A transfer that waits for the user. */
export function OfferedTransfer({ repository }: { repository: Repository }): VNode {
  const { of } = useApi()
  const { owner, name, repoTransfer } = repository
  const request = { owner: owner?.login ?? '', repo: name }
  return (
    <div class="note">
      <p>{t('{user} offers you this repository.', { user: repoTransfer?.doer?.login ?? '' })}</p>
      <p class="row">
        <ActionButton
          text={t('Take the repository')}
          act={async () => {
            const { fullName } = await of(RepositoryService).acceptRepositoryTransfer(request)
            goTo(`/${fullName}`)
          }}
        />
        <ActionButton
          text={t('Refuse')}
          act={async () => {
            await of(RepositoryService).rejectRepositoryTransfer(request)
            goTo('/')
          }}
        />
      </p>
    </div>
  )
}
