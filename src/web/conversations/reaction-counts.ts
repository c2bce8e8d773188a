import { createContext } from 'preact'
import type { ConversationReaction } from '#gen/branchline/v1/reaction_service_pb.ts'
import { ReactionService } from '#gen/branchline/v1/reaction_service_pb.ts'
import { useApi } from '../api/client.ts'
import { useLoad } from '../components/load.tsx'
import type { PullName } from '../pulls/reviews.ts'

/** The reactions to the texts of a conversation. */
export interface ReactionCounts {
  /** By the number of the comment; 0 for the conversation itself. */
  readonly of: ReadonlyMap<bigint, readonly ConversationReaction[]>
  reload(): void
}

/** The reactions around an entry of a conversation; undefined until they are there. */
export const ReactionContext = createContext<ReactionCounts | undefined>(undefined)

/**
 * Loads the reactions of a conversation.
 *
 * @param version grows when something has happened.
 */
export function useReactionCounts(name: PullName, version: number): ReactionCounts | undefined {
  const { of } = useApi()
  const { value, reload } = useLoad(
    async (signal) => {
      const { counts } = await of(ReactionService).countReactions(name, { signal })
      return byComment(counts)
    },
    [version],
  )
  return value && { of: value, reload }
}

function byComment(counts: readonly ConversationReaction[]): Map<bigint, ConversationReaction[]> {
  const found = new Map<bigint, ConversationReaction[]>()
  for (const count of counts) {
    const known = found.get(count.comment)
    if (known) known.push(count)
    else found.set(count.comment, [count])
  }
  return found
}
