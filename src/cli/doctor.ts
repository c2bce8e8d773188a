import { Command } from 'commander'
import { dataOption, type LogLevel, logLevelOption } from '../config.ts'
import { lockData, openDataAsItIs } from '../data-folder.ts'
import { examine } from '../domain/maintenance/doctor.ts'
import { createLog } from '../log.ts'
import { createApp } from '../server/app.ts'
import { OPERATOR_SETTINGS } from './operator.ts'
import { print } from './print.ts'

interface DoctorFlags {
  data: string
  fsck: boolean
  fix: boolean
  logLevel: LogLevel
}

/** `branchline doctor` */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'compare what the database says with what is in the repositories; exits 1 when something is wrong',
    )
    .addOption(dataOption())
    .option('--fsck', 'let Git check every object of every repository, too', false)
    .option('--fix', 'repair what can be repaired; only with the server stopped', false)
    .addOption(logLevelOption())
    .action(async (flags: DoctorFlags) => {
      const db = await openDataAsItIs(flags.data)
      const lock = flags.fix ? await lockData(flags.data) : undefined
      try {
        const app = await createApp({
          db,
          folder: flags.data,
          settings: OPERATOR_SETTINGS,
          log: createLog(flags.logLevel),
        })
        let repaired = 0
        let left = 0
        for await (const { subject, problem, outcome } of examine(app, flags)) {
          print(`${subject}: ${problem} (${outcome})`)
          if (outcome === 'repaired') repaired += 1
          else left += 1
        }
        // What was repaired is measured anew, which is read and written too.
        await app.background.settled()
        print(left + repaired === 0 ? 'nothing is wrong' : `${repaired} repaired, ${left} left`)
        if (left > 0) process.exitCode = 1
      } finally {
        lock?.release()
        await db.destroy()
      }
    })
}
