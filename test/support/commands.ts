import { vi } from 'vitest'
import { runCommandLine } from '../../src/app/cli.ts'
import { type CommandResult, environmentOf } from './process.ts'

/**
 * Runs a command of `branchline` to its end in the process of the test, which takes a tenth of the time
 * of a start of the program. For a command whose process is not the promise, one at a time.
 */
export async function runCommand(args: readonly string[]): Promise<CommandResult> {
  const { env, exitCode } = process
  const emitters = [process, process.stdout, process.stderr]
  const listeners = emitters.flatMap(listenersOf)
  const written = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
      written[name] += chunk
      return true
    }),
  )
  process.env = await environmentOf(args)
  process.exitCode = undefined
  try {
    await runCommandLine([process.execPath, 'branchline', ...args], process.env)
    return { code: Number(process.exitCode ?? 0), ...written }
  } finally {
    Object.assign(process, { env, exitCode })
    for (const spy of spies) spy.mockRestore()
    // What the command listens to for the rest of its process.
    for (const { emitter, event, listener } of emitters.flatMap(listenersOf))
      if (!listeners.some((kept) => kept.listener === listener)) emitter.off(event, listener)
  }
}

function listenersOf(emitter: NodeJS.EventEmitter) {
  return ['exit', 'error'].flatMap((event) =>
    emitter.listeners(event).map((listener) => ({
      emitter,
      event,
      listener: listener as (...args: unknown[]) => void,
    })),
  )
}
