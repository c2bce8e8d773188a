import type { Route } from '../routes.ts'

/** A call of the first view of a page, in its binary form. */
export interface FirstCall {
  /** Service and method, as in the address. */
  readonly path: string
  readonly request: Uint8Array<ArrayBuffer>
  /** Whether the answer is a stream. */
  readonly isStream: boolean
}

/** `RefreshToken` with the account, as `Session` calls it. */
export const REFRESH: FirstCall = {
  path: '/branchline.v1.AuthService/RefreshToken',
  // The field 1, `include_user`, is true.
  request: Uint8Array.of(8, 1),
  isStream: false,
}

/**
 * Returns the calls that a page sends at first, whatever else it knows. A page that does not send
 * exactly such a call sends its own, so that a mistake here costs a call, and a test notices.
 */
export function firstCallsOf({ name, props: { owner, repo, rest, query } }: Route): FirstCall[] {
  if (repo === '') return []
  const ofRepository = [...text(1, owner), ...text(2, repo)]
  if (name === 'issue' || name === 'pull' || name === 'pull-commits' || name === 'pull-files') {
    const [number = ''] = rest
    if (!/^[1-9]\d{0,8}$/.test(number)) return []
    const ofConversation = [...ofRepository, ...field(3, 0), ...varint(Number(number))]
    const conversation = call('ConversationService/GetConversation', ofConversation)
    if (name !== 'pull-files' || query.has('since')) return [conversation]
    const ofDiff = [...ofConversation, ...text(4, 'diff')]
    return [conversation, { ...call('PullFileService/GetPullRequestDiff', ofDiff), isStream: true }]
  }
  // The others have other first calls, or none that every visitor may send.
  return IN_FRAMES.has(name) ? [call('RepositoryService/GetRepository', ofRepository)] : []
}

/** Pages in the frame of a repository, which reads the repository first. */
const IN_FRAMES: ReadonlySet<string> = new Set<Route['name']>([
  ...(['code', 'blame', 'search', 'commits', 'commit', 'branches', 'tags', 'releases'] as const),
  ...(['issues', 'new-issue', 'labels', 'milestones', 'pulls', 'compare', 'merge-queue'] as const),
])

function call(method: string, request: readonly number[]): FirstCall {
  return { path: `/branchline.v1.${method}`, request: Uint8Array.from(request), isStream: false }
}

/** Returns the beginning of a field (https://protobuf.dev/programming-guides/encoding/). */
function field(number: number, wireType: 0 | 2): number[] {
  return [number * 8 + wireType]
}

function text(number: number, value: string): number[] {
  const bytes = new TextEncoder().encode(value)
  return [...field(number, 2), ...varint(bytes.length), ...bytes]
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))]
}
