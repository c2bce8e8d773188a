import type { RefObserver } from '../../repositories/ports.ts'
import { maintainedBranches } from '../heads/maintainer-edits.ts'
import { keepHeadsOf } from '../heads/orphaned-heads.ts'
import { prepareHeadsOf, rescueHeadsFrom } from '../heads/pull-heads.ts'
import { endedMerges, settleMerges } from '../merging/merge-attempts.ts'
import { detectMerges, settleDetected } from './detected-merges.ts'
import { findOrphanedBases, storeOrphanedBases } from './orphaned-bases.ts'
import { basesMoved, followBranches, headsMoved, renameBranchOfPulls } from './pull-branches.ts'
import { pullMessages } from './push-messages.ts'

/** The reaction of pull requests to changes of refs. */
export const pullRefObserver: RefObserver = {
  pushableBranches: maintainedBranches,
  async beginRecord(app, repository, ended) {
    const merges = await endedMerges(app, repository.id, ended)
    return {
      async prepare({ moved, defaultBranch, isLast, settled }) {
        const detected = await detectMerges(app, repository, moved)
        const departed = await findOrphanedBases(app, repository.id, moved)
        let followed: Awaited<ReturnType<typeof followBranches>> = []
        return {
          async record(tx) {
            if (isLast) await settleMerges(app, tx, merges, settled)
            await settleDetected(app, tx, detected)
            followed = await followBranches(app, tx, repository.id, defaultBranch, moved)
            await storeOrphanedBases(tx, departed)
          },
          afterCommit: () => headsMoved(app, followed),
        }
      },
      finish: (moved) => basesMoved(app, repository.id, moved),
    }
  },
  branchRenamed: renameBranchOfPulls,
  beforeFetch: prepareHeadsOf,
  beforeDeletion: keepHeadsOf,
  duringDeletion: rescueHeadsFrom,
  pushMessages: pullMessages,
}
