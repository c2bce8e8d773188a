import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import { codeHref, type RefName, repositoryHref } from '../addresses.ts'
import { Code, ConnectError } from '../api/calls.ts'
import { type Api, useApi } from '../api/client.ts'
import { Icon } from '../components/icon.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Menu } from '../components/menu.tsx'
import { t } from '../language/texts.tsx'

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

/** The most entries that the API has on one page. */
const LIMIT = 50

const PRESENT = {
  branch: 'branch {name}',
  tag: 'tag {name}',
  commit: 'commit {name}',
} as const

interface RefChoiceProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly place: RefAndPath
}

/** Says which branch, tag or commit the page shows, and leads to the same path in another one. */
export function RefChoice({ name, place }: RefChoiceProps): VNode {
  const [isOpen, setOpen] = useState(false)
  const { kind, name: ref } = place.ref
  return (
    <Menu
      className="choice"
      button={
        <>
          <Icon name={kind === 'tag' ? 'tag' : 'git-branch'} />
          <span>{t(PRESENT[kind], { name: kind === 'commit' ? ref.slice(0, 10) : ref })}</span>
          <Icon name="chevron-down" />
        </>
      }
      onOpen={() => setOpen(true)}
    >
      {isOpen && <Refs name={name} place={place} />}
    </Menu>
  )
}

function Refs({ name, place }: RefChoiceProps): VNode {
  const { of } = useApi()
  const refs = useLoad(
    (signal) =>
      Promise.all([
        of(BranchService).listBranches({ ...name, limit: LIMIT }, { signal }),
        of(TagService).listTags({ ...name, limit: LIMIT }, { signal }),
      ]),
    [name.owner, name.repo],
  )
  return (
    <Show of={refs}>
      {([{ branches, total }, { tags, total: totalTags }]) => (
        <>
          <RefLinks kind="branch" names={branches.map(({ name }) => name)} {...{ name, place }} />
          {total > branches.length && (
            <a href={`${repositoryHref(name)}/branches`}>{t('All branches')}</a>
          )}
          <RefLinks kind="tag" names={tags.map(({ name }) => name)} {...{ name, place }} />
          {totalTags > tags.length && <a href={`${repositoryHref(name)}/tags`}>{t('All tags')}</a>}
        </>
      )}
    </Show>
  )
}

function RefLinks(
  props: RefChoiceProps & { kind: RefName['kind']; names: readonly string[] },
): VNode | null {
  const { name, place, kind, names } = props
  if (names.length === 0) return null
  const isCurrent = (ref: string) => place.ref.kind === kind && place.ref.name === ref
  return (
    <ul aria-label={kind === 'branch' ? t('Branches') : t('Tags')}>
      {names.map((ref) => (
        <li key={ref}>
          <a
            href={codeHref(name, { kind, name: ref }, place.path)}
            aria-current={isCurrent(ref) ? 'true' : undefined}
          >
            {ref}
          </a>
        </li>
      ))}
    </ul>
  )
}

/** The folders above a file or folder, as links. */
export function Breadcrumbs(props: {
  name: { owner: string; repo: string }
  place: RefAndPath
}): VNode {
  const { name, place } = props
  const parts = place.path === '' ? [] : place.path.split('/')
  return (
    <nav class="path" aria-label={t('Path')}>
      <a href={codeHref(name, place.ref, '')}>{name.repo}</a>
      {parts.map((part, i) => {
        const path = parts.slice(0, i + 1).join('/')
        return (
          <span key={path}>
            {' / '}
            {i === parts.length - 1 ? (
              <span aria-current="page">{part}</span>
            ) : (
              <a href={codeHref(name, place.ref, path)}>{part}</a>
            )}
          </span>
        )
      })}
    </nav>
  )
}
