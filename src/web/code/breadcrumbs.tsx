import type { VNode } from 'preact'
import { codeHref } from '../addresses.ts'
import type { RefAndPath } from './refs.ts'

/** The folders above a file or folder, as links. */
export function Breadcrumbs(props: {
  name: { owner: string; repo: string }
  place: RefAndPath
}): VNode {
  const { name, place } = props
  const parts = place.path === '' ? [] : place.path.split('/')
  return (
    <nav class="path" aria-label="Path">
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
