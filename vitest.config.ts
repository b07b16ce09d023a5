import { defineConfig } from 'vitest/config'

const exclude = ['**/node_modules/**', '**/dist/**', '**/*.soak.test.ts']

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{shared,server,app,scripts}/**/*.test.{ts,tsx}'],
          exclude: [...exclude, '**/*.process.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 60_000,
          // Vitest would keep one of two cores for itself.
          maxWorkers: 2,
        },
      },
      {
        // Real node processes wait most of their time, for timers and for the disk. On a machine that others use a wait can
        // be too short; a test that passes only the second time is named at the end of `npm test`.
        test: {
          name: 'process',
          retry: 1,
          include: ['server/**/*.process.test.ts'],
          exclude,
          setupFiles: ['server/cluster/testing/port-share.ts'],
          maxWorkers: 3,
          testTimeout: 240_000,
          hookTimeout: 60_000,
        },
      },
      {
        // The long runs of `npm run test:soak`.
        test: {
          name: 'soak',
          include: ['{shared,server}/**/*.soak.test.ts'],
          fileParallelism: false,
          testTimeout: 3_600_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
