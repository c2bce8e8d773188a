import type { DomainError } from '../../core/errors.ts'
import { sizeText } from '../../core/sizes.ts'

/** What refused bytes are called, by the subject in the metadata. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['size:git:all', 'git'],
  ['size:git:lfs', 'Git LFS'],
])

/** Returns the text of a refusal by a quota for `git push`, from the metadata of QUOTA_EXCEEDED. */
export function quotaText({
  subject = '',
  scope,
  name,
  used,
  limit,
  needed,
}: DomainError['metadata']): string {
  const place = [scope, name].filter((part) => part !== undefined).join(' ')
  const word = WORDS.get(subject) ?? 'attachments'
  if (used === undefined || limit === undefined)
    return `Quota exceeded: ${place} has too little space left for ${word}.`
  const [usedText, limitText, neededText] = [used, limit, needed].map((bytes) =>
    sizeText(Number(bytes)),
  )
  return `Quota exceeded: ${place} uses ${usedText} of ${limitText} for ${word}; this push needs ${neededText} more.`
}
