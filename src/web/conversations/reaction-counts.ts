import { createContext } from 'preact'
import { useMemo } from 'preact/hooks'
import type { ConversationReaction } from '#gen/branchline/v1/reaction_service_pb.ts'

/** The reactions to the texts of a conversation. */
export interface ReactionCounts {
  /** By the number of the comment; 0 for the conversation itself. */
  readonly of: ReadonlyMap<bigint, readonly ConversationReaction[]>
  reload(): void
}

/** The reactions around an entry of a conversation; undefined until they are there. */
export const ReactionContext = createContext<ReactionCounts | undefined>(undefined)

/** Returns the reactions of a conversation. */
export function useReactionCounts(
  counts: readonly ConversationReaction[],
  reload: () => void,
): ReactionCounts {
  return useMemo(() => ({ of: byComment(counts), reload }), [counts, reload])
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
