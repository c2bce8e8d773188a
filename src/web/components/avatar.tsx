import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Account } from '#gen/branchline/v1/account_pb.ts'

/** The number of colours in `src/web/design/components.css`. */
const COLOURS = 6

/** What an avatar shows of an account, beside the first letter of the name. */
export type Face = Pick<Account, 'avatarUrl' | 'visibility'>

/**
 * The uploaded picture of an account. Without one, the first letter of the name on a colour that the
 * name decides, which needs no request. Screen readers leave the avatar out, since the name is beside
 * it.
 */
export function Avatar({ name, account }: { name: string; account?: Face | undefined }): VNode {
  const [isBroken, setBroken] = useState(false)
  const [first = '?'] = name
  const colour = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9973, 7)
  const picture = account && pictureOf(account)
  return (
    <span
      class={`avatar avatar-${colour % COLOURS}`}
      aria-hidden="true"
      data-letter={first.toUpperCase()}
    >
      {picture !== undefined && !isBroken && (
        <img src={picture} alt="" loading="lazy" onError={() => setBroken(true)} />
      )}
    </span>
  )
}

/**
 * Returns the address of the uploaded picture of an account. The browser asks as a stranger, to whom
 * private instances, and accounts that are not public, show no picture. Pictures of other servers
 * would tell them who reads.
 */
function pictureOf({ avatarUrl, visibility }: Face): string | undefined {
  const isPublic = document.documentElement.dataset.instance === 'open' && visibility === 'public'
  const [path] = /\/file\/users\/[^/?#]+\/avatar$/.exec(avatarUrl) ?? []
  return isPublic ? path : undefined
}
