import type { VNode } from 'preact'
import { encode } from 'uqr'

/** Light fields around the code, which scanners need (ISO/IEC 18004). */
const BORDER = 4

/** A text as a QR code. The browser draws the code, so that no server learns the text. */
export function QrCode({ text, label }: { text: string; label: string }): VNode {
  const { data, size } = encode(text, { ecc: 'M', border: BORDER })
  const path = data.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  )
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <path class="light" d={`M0 0h${size}v${size}h-${size}z`} />
      <path d={path.join('')} shape-rendering="crispEdges" />
    </svg>
  )
}
