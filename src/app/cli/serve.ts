import { Command } from 'commander'
import { serveOptions } from '../config/options.ts'
import type { ServeFlags } from '../config.ts'
import { tuneForStart } from '../server/heap-tuning.ts'
import { run } from './run.ts'

/** `branchline serve` */
export function serveCommand(): Command {
  return commandThatServes(async (flags) => {
    if (flags.workers > 1) {
      // The primary process needs none of the code of the server.
      const { serveByWorkers } = await import('./primary.ts')
      await serveByWorkers(flags)
      return
    }
    tuneForStart()
    await run(({ serve }) => serve(flags))
  })
}

/** The same command in a worker process of `serve --workers`. */
export function workerCommand(): Command {
  return commandThatServes((flags) => {
    tuneForStart()
    return run(({ serveAsWorker }) => serveAsWorker(flags))
  })
}

function commandThatServes(action: (flags: ServeFlags) => Promise<void>): Command {
  const command = new Command('serve').description(
    'serve until SIGTERM or SIGINT; a second signal exits at once',
  )
  for (const option of serveOptions()) command.addOption(option)
  return command.action(action)
}
