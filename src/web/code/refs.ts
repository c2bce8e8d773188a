import { Code, ConnectError } from '@connectrpc/connect'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import type { RefName } from '../addresses.ts'
import type { Api } from '../api/client.ts'

/** No ref of a person has more parts. */
const MAX_REF_PARTS = 10

/** A ref and the path behind it in an address. */
export interface RefAndPath {
  readonly ref: RefName
  readonly path: string
}

/**
 * Separates a ref from the path in the segments behind `/src/` or `/commits/`, such as `branch`,
 * `main`, `docs`. Addresses of these pages encode the slashes of a ref, and those of others may not.
 * Git stores no ref whose name begins with that of another and a slash, so that the first ref that
 * exists is the one.
 */
export async function findRef(
  { of }: Api,
  repository: Repository,
  [kind, ...parts]: readonly string[],
  signal: AbortSignal,
): Promise<RefAndPath> {
  const { defaultBranch } = repository
  const name = { owner: repository.owner?.login ?? '', repo: repository.name }
  const [first = '', ...rest] = parts
  if (kind === undefined) return { ref: { kind: 'branch', name: defaultBranch }, path: '' }
  if (kind === 'commit') return { ref: { kind, name: first }, path: rest.join('/') }
  const isBranch = kind === 'branch'
  if (isBranch && first === defaultBranch)
    return { ref: { kind: 'branch', name: first }, path: rest.join('/') }
  const find = (text: string) =>
    isBranch
      ? of(BranchService).getBranch({ ...name, branch: text }, { signal })
      : of(TagService).getTag({ ...name, tag: text }, { signal })
  let missing: unknown = new ConnectError('the address names no branch or tag', Code.NotFound)
  for (let count = 1; count <= Math.min(parts.length, MAX_REF_PARTS); count++) {
    const text = parts.slice(0, count).join('/')
    try {
      await find(text)
      const ref: RefName = { kind: isBranch ? 'branch' : 'tag', name: text }
      return { ref, path: parts.slice(count).join('/') }
    } catch (error) {
      if (ConnectError.from(error).code !== Code.NotFound) throw error
      missing = error
    }
  }
  throw missing
}
