import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import { codeHref, type RefName, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import type { RefAndPath } from './refs.ts'

/** The most entries that the API has on one page. */
const LIMIT = 50

interface RefChoiceProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly place: RefAndPath
}

/** Says which branch, tag or commit the page shows, and leads to the same path in another one. */
export function RefChoice({ name, place }: RefChoiceProps): VNode {
  const [isOpen, setOpen] = useState(false)
  const { kind, name: ref } = place.ref
  return (
    <details class="choice" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {kind} {kind === 'commit' ? ref.slice(0, 10) : ref}
      </summary>
      {isOpen && <Refs name={name} place={place} />}
    </details>
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
          {total > branches.length && <a href={`${repositoryHref(name)}/branches`}>All branches</a>}
          <RefLinks kind="tag" names={tags.map(({ name }) => name)} {...{ name, place }} />
          {totalTags > tags.length && <a href={`${repositoryHref(name)}/tags`}>All tags</a>}
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
    <ul aria-label={kind === 'branch' ? 'Branches' : 'Tags'}>
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
