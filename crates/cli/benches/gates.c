/* What comparisons answer, estimate and find, by a program that shares nothing with skill-evals but the rules of
 * docs/contributing/proofs.md:
 *
 *     cc -O2 -o target/gates crates/cli/benches/gates.c -lm && target/gates
 *
 * prints the tables of that page: whether intervals hold, what the quick plan takes and finds, and the false alarms of a year of gates.
 * A number as argument divides the numbers of comparisons.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 170, PAIRS = 450 };
enum plan { QUICK, STANDARD, UNTIL_DECIDED };

/* Random numbers: splitmix64. */
static uint64_t state = 29;

static double uniform(void) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static bool happens(double chance) { return uniform() < chance; }

static double gamma_draw(double shape) {
    double d = shape + 1 - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()), v = pow(1 + c * x, 3);
        if (v > 0 && log(uniform()) < x * x / 2 + d - d * v + d * log(v)) return fmax(d * v * pow(uniform(), 1 / shape), 1e-300);
    }
}

/* The evidence of losses and wins: 2^(b+c) · 8/3 · B(b+2, c+1) · I½(c+1, b+2); the last is a sum of binomial weights. */
static double evidence[PAIRS][PAIRS];

static void fill_evidence(void) {
    for (int b = 0; b < PAIRS; b++)
        for (int c = 0; c < PAIRS; c++) {
            int n = b + c + 2, from = c + 1 > n / 2 ? c + 1 : 0, to = c + 1 > n / 2 ? n : c;
            double sum = 0;
            for (int k = from; k <= to; k++) sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * M_LN2);
            double above = from ? sum : 1 - sum;
            evidence[b][c] = 8.0 / 3 * exp((b + c) * M_LN2 + lgamma(b + 2) + lgamma(c + 1) - lgamma(n + 1) + log(above));
        }
}

static double ln_beta(double a, double b) { return lgamma(a) + lgamma(b) - lgamma(a + b); }

static double power_of(int count, double rate) { return count ? count * log(rate) : 0; }

/* The evidence of x of n trials of the baseline and y of m of the candidate, as a logarithm: the mean likelihood by the largest with q >= p. */
static double apart(int x, int n, int y, int m) {
    double mean = ln_beta(x + 5, n - x + .5) - ln_beta(5, .5) + ln_beta(y + .5, m - y + 1) - ln_beta(.5, 1);
    double p = n ? (double)x / n : 0, q = m ? (double)y / m : 1;
    if (q < p) p = q = (double)(x + y) / (n + m);
    return mean - power_of(x, p) - power_of(n - x, 1 - p) - power_of(y, q) - power_of(m - y, 1 - q);
}

/* From so many failed looks on, all cases get pairs: the first number that at most one of 20 suites with these rates reaches; five at
 * most, which would be proof if the base passed. */
static int several(int cases, const double *rates) {
    double failing[CASES + 1] = {1}, above = 1;
    int failed = 0;
    for (int at = 0; at < cases; at++)
        for (int count = at + 1; count >= 0; count--)
            failing[count] = failing[count] * rates[at] + (count ? failing[count - 1] * (1 - rates[at]) : 0);
    while (above > .05 && failed <= cases) above -= failing[failed++];
    return failed < 2 ? 2 : failed > 5 ? 5 : failed;
}

struct rounds { int losses, wins, ties; };

/* 32 bets against "the mean difference is m or less". */
static double above(struct rounds of, double m) {
    double sum = 0;
    for (int at = 0; at < 32; at++) {
        double u = (at + 0.5) / 32, ln = 0;
        if (of.wins) ln += of.wins * log(1 + u * (1 - m) / (1 + m));
        if (of.ties) ln += of.ties * log(1 - u * m / (1 + m));
        if (of.losses) ln += of.losses * log(1 - u);
        sum += (1 + u) * exp(ln);
    }
    return sum / 48;
}

static struct rounds turned(struct rounds of) { return (struct rounds){of.wins, of.losses, of.ties}; }

/* The end of the 95 % interval above; of the turned rounds it is the one below, with its sign changed. */
static double upper(struct rounds of) {
    double low = -1, high = 1;
    for (int step = 0; step < 40; step++) {
        double middle = (low + high) / 2;
        if (above(turned(of), -middle) >= 40) high = middle;
        else low = middle;
    }
    return high;
}

struct rule { enum plan plan; int cases, pairs; double alpha, margin; };

struct one { int losses, wins, tried, passed, base_passed, look; double own, apart; signed char seen[PAIRS]; };

enum { NO_LOOK, FAILED, PASSED };

struct answer {
    bool broke, worse, better;
    int trials, fresh, looks; /* of both sides, those of them that were not kept, and looks with the candidate alone */
    struct rounds complete;
};

/* The trials of the base that are kept, by case: the first may be used by any number of comparisons, once by each. Those after it
 * only say how often the case passes. */
struct kept { int count[CASES]; bool passed[CASES][PAIRS]; };

/* A comparison. The first trials of the base are taken from `kept`, and new first ones of the base are added to `keep`. */
static struct answer compare(const struct rule *rule, const double *before, const double *after, const struct kept *kept, struct kept *keep) {
    static struct one of[CASES];
    struct answer found = {0};
    bool quick = rule->plan == QUICK;
    double enough = 1 / rule->alpha, harm = 1, most_harm = 1, worse = 1, better = 1, no_worse = 1, together = 1, ln_apart = 0, stake = 0, then = 1;
    int losses = 0, wins = 0, rounds = 0, failed = 0, n = rule->cases, first = (int)(uniform() * n);
    memset(of, 0, sizeof *of * (size_t)n);
    double rates[CASES], on_single = fmin(.3, 3.0 / n);
    for (int at = 0; at < n; at++) {
        int trials = 0, passed = 0;
        for (int number = 1; kept && number < kept->count[at]; number++) trials++, passed += kept->passed[at][number];
        rates[at] = (passed + 1.8) / (trials + 2);
    }
    int many = several(n, rates);
    for (;;) {
        int suspects[CASES], open[CASES], count = 0, opens = 0, next = -1, untried = -1, unseen = -1;
        bool shown = most_harm >= enough, alone = false;
        for (int place = 0; place < n; place++) {
            int at = (first + place) % n;
            struct one *one = &of[at];
            int passes = one->passed + (one->look == PASSED), trials = one->tried + (one->look != NO_LOOK);
            bool suspect = one->tried ? 2 * passes < trials && (one->tried < 2 || 2 * one->losses >= one->tried) : one->look == FAILED;
            if (!shown && suspect) suspects[count++] = at;
            if (untried < 0 && !one->tried) untried = at;
            if (unseen < 0 && !one->tried && one->look == NO_LOOK) unseen = at;
        }
        double near_better = above(found.complete, 0);
        bool good = better >= enough || (no_worse >= enough && near_better * near_better < enough);
        bool mean = worse >= enough || (good && count == 0);
        if (quick ? shown : rule->plan == STANDARD ? shown || mean : mean) break;
        if (!quick && untried >= 0) next = untried;
        else if (count) memcpy(open, suspects, sizeof open), opens = count;
        else if (quick && stake > 0 && together >= .5 * then && untried >= 0) next = untried;
        else if (quick && unseen >= 0) next = unseen, alone = true;
        else
            for (int at = 0; at < n; at++)
                if (!quick || (of[at].tried && together >= (stake > 0 ? 1 : 2.5))) open[opens++] = at;
        if (next < 0 && !opens) break;
        if (found.trials + (alone ? 1 : 2) > 2 * rule->pairs) break;
        if (next < 0) {
            next = open[0];
            for (int at = 1; at < opens; at++) if (of[open[at]].tried < of[next].tried) next = open[at];
            bool for_mean = !quick && (shown || fmax(near_better, above(found.complete, -rule->margin)) > harm);
            if (of[next].tried && !for_mean && opens > 1) {
                double now = log(evidence[losses][wins]), best = -INFINITY;
                double loss = log(evidence[losses + 1][wins]) - now, win = log(evidence[losses][wins + 1]) - now;
                for (int at = 0; at < opens; at++) {
                    struct one *one = &of[open[at]];
                    double l = gamma_draw(1.0 / 16 + one->losses), w = gamma_draw(1.0 / 16 + one->wins);
                    double t = gamma_draw(0.5 + one->tried - one->losses - one->wins), adds = (l * loss + w * win) / (l + w + t);
                    if (adds > best) best = adds, next = open[at];
                }
            }
        }
        struct one *one = &of[next];
        bool b = happens(after[next]);
        if (alone) {
            one->look = b ? PASSED : FAILED, failed += !b, found.looks++, found.trials++, found.fresh++;
            if (failed >= many && stake == 0) stake = fmin(harm, 1), then = together;
            continue;
        }
        bool is_kept = kept && one->tried < (quick ? kept->count[next] && 2 * failed <= many : kept->count[next]);
        bool a = is_kept ? kept->passed[next][one->tried] : happens(before[next]);
        found.trials += 2, found.fresh += 1 + !is_kept;
        if (keep && one->tried == 0 && !is_kept && keep->count[next] < PAIRS) keep->passed[next][keep->count[next]++] = a;
        one->seen[one->tried++] = (signed char)(b - a);
        one->passed += b, one->base_passed += a, one->losses += a && !b, one->wins += b && !a, losses += a && !b, wins += b && !a;
        ln_apart -= one->apart;
        one->apart = apart(one->base_passed, one->tried, one->passed, one->tried);
        ln_apart += one->apart;
        double own = 0;
        for (int at = 0; at < n; at++) own += evidence[of[at].losses][of[at].wins] / n;
        together = 0.95 * evidence[losses][wins] + 0.05 * own;
        harm = !quick ? together : stake > 0 ? stake * together / then : (1 - on_single) * together + on_single * exp(ln_apart);
        most_harm = fmax(most_harm, harm);
        int least = one->tried;
        for (int at = 0; at < n; at++) if (of[at].tried < least) least = of[at].tried;
        if (least > rounds) {
            for (int at = 0; at < n; at++) {
                int seen = of[at].seen[rounds];
                found.complete.losses += seen < 0, found.complete.wins += seen > 0, found.complete.ties += seen == 0;
            }
            rounds = least;
            worse = fmax(worse, above(turned(found.complete), 0));
            better = fmax(better, above(found.complete, 0));
            no_worse = fmax(no_worse, above(found.complete, -rule->margin));
        }
    }
    found.broke = most_harm >= enough;
    found.better = better >= enough, found.worse = worse >= enough && !found.better;
    return found;
}

static int divided = 1;

static void estimates(void) {
    static const struct { const char *name; int cases, broken; double from, to, before, after; } SUITES[] = {
        {"10 harmless, .9", 10, 0, 0, 0, .9, .9}, {"10 harmless, .5", 10, 0, 0, 0, .5, .5}, {"1 of 10: 1 → 0", 10, 1, 1, 0, .9, .9},
        {"10: all .9 → .8", 10, 0, 0, 0, .9, .8}, {"10: all .9 → .5", 10, 0, 0, 0, .9, .5}, {"10: all .9 → .3", 10, 0, 0, 0, .9, .3},
        {"10: all .5 → .4", 10, 0, 0, 0, .5, .4}, {"16: all .5 → .6", 16, 0, 0, 0, .5, .6}, {"40: all .9 → .7", 40, 0, 0, 0, .9, .7},
        {"1 case: .9 → .6", 1, 0, 0, 0, .9, .6},
    };
    printf("| suite | truth | the interval of `standard` holds | that of `until-decided` |\n");
    printf("| --- | --- | --- | --- |\n");
    for (size_t at = 0; at < sizeof SUITES / sizeof *SUITES; at++) {
        double before[CASES], after[CASES], truth = 0, holds[3] = {0};
        int n = SUITES[at].cases, runs[3] = {0, 2000 / divided, 400 / divided};
        for (int one = 0; one < n; one++) {
            bool breaks = one < SUITES[at].broken;
            before[one] = breaks ? SUITES[at].from : SUITES[at].before, after[one] = breaks ? SUITES[at].to : SUITES[at].after;
            truth += (after[one] - before[one]) / n;
        }
        for (enum plan plan = STANDARD; plan <= UNTIL_DECIDED; plan++) {
            struct rule rule = {plan, n, plan == UNTIL_DECIDED ? 400 : 200, 0.05, 0.05};
            for (int run = 0; run < runs[plan]; run++) {
                struct rounds of = compare(&rule, before, after, NULL, NULL).complete;
                holds[plan] += -upper(turned(of)) <= truth + 1e-9 && truth <= upper(of) + 1e-9;
            }
        }
        printf("| %s | %+.1f | %.1f %% | %.1f %% |\n", SUITES[at].name, 100 * truth, 100 * holds[1] / runs[1], 100 * holds[2] / runs[2]);
    }
}

/* The quick plan: trials and the share that finds harm, by suite. The case that breaks has any place. */
static void quick(void) {
    static const struct { const char *name; int cases; double from, to, before, after; } SUITES[] = {
        {"harmless, 1", 10, 1, 1, 1, 1}, {"harmless, .9", 10, .9, .9, .9, .9}, {"harmless, 1 to .5", 10, 0, 0, 0, 0}, {"harmless, .7", 10, .7, .7, .7, .7},
        {"harmless, .5", 10, .5, .5, .5, .5}, {"one 1 → 0", 10, 1, 0, .9, .9}, {"one 1 → .1", 10, 1, .1, .9, .9}, {"one 1 → .5", 10, 1, .5, .9, .9},
        {"all .9 → .8", 10, .9, .8, .9, .8}, {"all .9 → .5", 10, .9, .5, .9, .5}, {"all .9 → .3", 10, .9, .3, .9, .3}, {"all .5 → .3", 10, .5, .3, .5, .3}, {"all 1 → .8", 10, 1, .8, 1, .8},
        {"harmless, 1", 40, 1, 1, 1, 1}, {"harmless, .95", 40, .95, .95, .95, .95}, {"harmless, .9", 40, .9, .9, .9, .9}, {"harmless, 1 to .5", 40, 0, 0, 0, 0}, {"harmless, .7", 40, .7, .7, .7, .7},
        {"harmless, .5", 40, .5, .5, .5, .5}, {"one 1 → 0", 40, 1, 0, .9, .9}, {"one 1 → .1", 40, 1, .1, .9, .9}, {"one 1 → .5", 40, 1, .5, .9, .9},
        {"all .9 → .8", 40, .9, .8, .9, .8}, {"all .9 → .7", 40, .9, .7, .9, .7}, {"all .9 → .5", 40, .9, .5, .9, .5}, {"all 1 → .9", 40, 1, .9, 1, .9},
        {"harmless, .9", 100, .9, .9, .9, .9}, {"all .9 → .8", 100, .9, .8, .9, .8}, {"all .7 → .5", 100, .7, .5, .7, .5}, {"all 1 → .9", 100, 1, .9, 1, .9},
        {"harmless, .9", 170, .9, .9, .9, .9}, {"one 1 → .1", 170, 1, .1, .9, .9}, {"all .9 → .85", 170, .9, .85, .9, .85}, {"all .9 → .8", 170, .9, .8, .9, .8},
    };
    static const double MIXED[] = {1, .9, .7, .5};
    static const int KEPT[] = {0, 1, 20};
    printf("\n| cases | suite | trials | finds harm | with a kept trial of each case | finds harm | with 20 earlier trials of each | finds harm |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t at = 0; at < sizeof SUITES / sizeof *SUITES; at++) {
        double before[CASES], after[CASES], trials[3] = {0}, harm[3] = {0};
        int n = SUITES[at].cases, runs = 6000 / divided;
        struct rule rule = {QUICK, n, n > 100 ? 2 * n : 200, 0.05, 0.05};
        for (int one = 0; one < n; one++) {
            before[one] = one ? SUITES[at].before : SUITES[at].from, after[one] = one ? SUITES[at].after : SUITES[at].to;
            if (SUITES[at].before == 0) before[one] = after[one] = MIXED[one % 4];
        }
        for (int run = 0; run < runs; run++)
            for (int with = 0; with < 3; with++) {
                static struct kept kept;
                for (int one = 0; one < n; one++) {
                    kept.count[one] = KEPT[with];
                    for (int number = 0; number < KEPT[with]; number++) kept.passed[one][number] = happens(before[one]);
                }
                struct answer answer = compare(&rule, before, after, with ? &kept : NULL, NULL);
                trials[with] += answer.fresh, harm[with] += answer.broke || answer.worse;
            }
        printf("| %d | %s |", n, SUITES[at].name);
        for (int with = 0; with < 3; with++) printf(" %.1f | %.1f %% |", trials[with] / runs, 100 * harm[with] / runs);
        printf("\n");
    }
}

/* Harmless changes of cases at .9 when their base was kept; by now all pass less often. */
static void drift(void) {
    printf("\n| cases | all pass less often by | false alarms without kept trials | with one of each case | with 20 earlier trials of each |\n| --- | --- | --- | --- | --- |\n");
    for (int n = 10; n <= 40; n += 30)
        for (int tenths = 0; tenths <= 3; tenths++) {
            static const int KEPT[] = {0, 1, 20};
            double now[CASES], alarms[3] = {0};
            int runs = 6000 / divided;
            struct rule rule = {QUICK, n, 200, 0.05, 0.05};
            for (int one = 0; one < n; one++) now[one] = .9 - tenths / 10.0;
            for (int run = 0; run < runs; run++)
                for (int with = 0; with < 3; with++) {
                    static struct kept kept;
                    for (int one = 0; one < n; one++) {
                        kept.count[one] = KEPT[with];
                        for (int number = 0; number < KEPT[with]; number++) kept.passed[one][number] = happens(.9);
                    }
                    alarms[with] += compare(&rule, now, now, with ? &kept : NULL, NULL).broke;
                }
            printf("| %d | %d points |", n, tenths * 10);
            for (int with = 0; with < 3; with++) printf(" %.1f %% |", 100 * alarms[with] / runs);
            printf("\n");
        }
}

/* The share of comparisons that find harm. */
static double found(const struct rule *rule, const double *before, const double *after, int runs) {
    int count = 0;
    for (int run = 0; run < runs; run++) {
        struct answer answer = compare(rule, before, after, NULL, NULL);
        count += answer.broke || answer.worse;
    }
    return (double)count / runs;
}

static void power(void) {
    static const int MANY[] = {3, 5, 10, 20, 40};
    printf("\n| cases | the drop from 90 %% that `quick` finds in 80 %% | that of `standard` | 1 → 0 by `quick` | with a judge that is wrong one time in ten |\n");
    printf("| --- | --- | --- | --- | --- |\n");
    for (int at = 0; at < 5; at++) {
        int n = MANY[at], drops[2];
        double before[CASES], after[CASES];
        for (enum plan plan = QUICK; plan <= STANDARD; plan++) {
            struct rule rule = {plan, n, 200, 0.05, 0.05};
            int low = 0, high = 90;
            while (high - low > 1) {
                int middle = (low + high) / 2;
                for (int one = 0; one < n; one++) before[one] = 0.9, after[one] = 0.9 - middle / 100.0;
                if (found(&rule, before, after, 4000 / divided) >= 0.8) high = middle;
                else low = middle;
            }
            drops[plan] = high;
        }
        double dead[2];
        for (int judged = 0; judged < 2; judged++) {
            struct rule rule = {QUICK, n, 200, 0.05, 0.05};
            for (int one = 0; one < n; one++) before[one] = after[one] = judged ? 0.82 : 0.9;
            before[0] = judged ? 0.9 : 1, after[0] = judged ? 0.1 : 0;
            dead[judged] = found(&rule, before, after, 4000 / divided);
        }
        printf("| %d | %d points | %d points | %.0f %% | %.0f %% |\n", n, drops[0], drops[1], 100 * dead[0], 100 * dead[1]);
    }
}

enum { GATES = 500, YEARS = 200, IN_SUITE = 12 };

/* A year of pull requests. Of 10, one harms: 10 to 100 points of one to all cases. */
static void year(double rate, bool is_of_year, bool keeps, bool neighbors, double drift) {
    double new_trials = 0;
    long alarms = 0, bad = 0, harmless = 0, harmful = 0, caught = 0, after_miss = 0, bad_after_miss = 0, bad_years = 0;
    int years = YEARS / divided;
    struct rule rule = {QUICK, IN_SUITE, 200, is_of_year ? 0.05 / GATES : 0.05, 0.05};
    for (int number = 0; number < years; number++) {
        static struct kept kept;
        memset(&kept, 0, sizeof kept);
        double base[CASES], provider = 0;
        int since_miss = -1;
        bool any = false;
        for (int at = 0; at < IN_SUITE; at++) base[at] = rate > 0 ? rate : at % 3 == 0 ? 1 : at % 3 == 1 ? 0.9 : 0.5;
        double sound[CASES];
        memcpy(sound, base, sizeof sound);
        for (int gate = 0; gate < GATES; gate++) {
            if (drift > 0 && happens(1.0 / 50)) provider = (2 * uniform() - 1) * drift;
            /* A neighbor is edited: something that is offered to every case differs, so no kept trial is of these contents. */
            if (neighbors && happens(1.0 / 3)) memset(&kept, 0, sizeof kept);
            double before[CASES], after[CASES];
            bool harms = happens(0.1);
            double effect = 0.1 + 0.9 * uniform();
            int hit = 1 + (int)(uniform() * IN_SUITE), offset = (int)(uniform() * IN_SUITE);
            for (int at = 0; at < IN_SUITE; at++) {
                before[at] = fmin(1, fmax(0, base[at] + (base[at] < 1 ? provider : 0)));
                bool is_hit = harms && (at + offset) % IN_SUITE < hit;
                after[at] = is_hit ? fmax(0, before[at] - effect) : before[at];
            }
            /* Every fifth gate follows a night: a run of the base, whose trials may stand for later ones. */
            if (keeps && gate % 5 == 0)
                for (int at = 0; at < IN_SUITE; at++)
                    if (kept.count[at] < PAIRS) kept.passed[at][kept.count[at]++] = happens(before[at]);
            struct answer answer = compare(&rule, before, after, keeps ? &kept : NULL, keeps ? &kept : NULL);
            /* Who runs a gate with an alarm again, with the same contents, gets the same answer. */
            new_trials += answer.fresh, alarms += answer.broke;
            harmless += !harms, harmful += harms, bad += answer.broke && !harms, caught += answer.broke && harms, any |= answer.broke && !harms;
            if (since_miss >= 0 && !harms) after_miss++, bad_after_miss += answer.broke;
            /* Half of what passed is merged before the next gate; then the base has other contents and is measured again. A harm that
             * was merged is found by people ten gates later and taken back. */
            if (since_miss >= 0 && ++since_miss > 10) since_miss = -1, memcpy(base, sound, sizeof base), memset(&kept, 0, sizeof kept);
            if (!answer.broke && happens(0.5)) {
                memset(&kept, 0, sizeof kept);
                if (harms && since_miss < 0) {
                    since_miss = 0;
                    for (int at = 0; at < IN_SUITE; at++) base[at] = (at + offset) % IN_SUITE < hit ? fmax(0, base[at] - effect) : base[at];
                }
            }
        }
        bad_years += any;
    }
    printf("| %s | %s | %s | %s | %s | %.2f %% | %.2f %% | %.1f %% | %.0f %% | %.1f |\n", rate > 0 ? (rate > 0.7 ? "all .9" : "all .5") : "1, .9, .5",
           is_of_year ? "year" : "gate", keeps ? "yes" : "no", neighbors ? "yes" : "no", drift > 0 ? "moves by up to .1" : "same",
           100.0 * bad / harmless, after_miss ? 100.0 * bad_after_miss / after_miss : 0, 100.0 * bad_years / years,
           100.0 * caught / harmful, new_trials / (years * (double)GATES));
}

int main(int count, char **arguments) {
    divided = count > 1 ? atoi(arguments[1]) : 1;
    fill_evidence();
    estimates();
    quick();
    drift();
    power();
    printf("\n| suite | promise | kept trials | a neighbor is edited before one gate in three | provider | harmless gates with an alarm | of those after a merged miss | years with a false alarm | harmful found | new trials, mean |\n");
    printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    static const double RATES[] = {0.9, 0.5, 0};
    for (int promise = 0; promise < 2; promise++)
        for (int suite = 0; suite < 3; suite++) {
            year(RATES[suite], promise, false, false, 0);
            year(RATES[suite], promise, true, false, 0);
            year(RATES[suite], promise, true, true, 0);
            year(RATES[suite], promise, true, true, 0.1);
        }
    return 0;
}
