import { Buffer } from 'node:buffer'

/** The result of a command that Git leaves to the hook `proc-receive` (githooks(5)). */
export type CommandResult =
  | {
      /** The ref that the client named. */
      readonly name: string
      /** A line that says why the command is refused. */
      readonly refusal: string
    }
  | {
      readonly name: string
      readonly refusal?: undefined
      /** The ref that was moved in place of `name`. */
      readonly movedRef: string
      /** The object before the update. Undefined if the ref was created. */
      readonly from: string | undefined
      readonly to: string
      /** Whether commits were left out. */
      readonly isForced: boolean
    }

/** Ends a list of packets. */
const FLUSH = '0000'

/** Returns what the hook tells Git: the version of the protocol, and the results. */
export function procReceiveReport(results: readonly CommandResult[]): string {
  return [packet('version=1'), FLUSH, ...results.flatMap(packetsOf), FLUSH].join('')
}

function packetsOf(result: CommandResult): string[] {
  if (result.refusal !== undefined)
    return [packet(`ng ${result.name} ${result.refusal.replaceAll('\n', ' ')}`)]
  const { name, movedRef, from, to, isForced } = result
  return [
    packet(`ok ${name}`),
    packet(`option refname ${movedRef}`),
    ...(from === undefined ? [] : [packet(`option old-oid ${from}`)]),
    packet(`option new-oid ${to}`),
    ...(isForced ? [packet('option forced-update')] : []),
  ]
}

/** Returns a text with its length in front (gitprotocol-common(5)). */
function packet(text: string): string {
  return (Buffer.byteLength(text) + FLUSH.length).toString(16).padStart(FLUSH.length, '0') + text
}
